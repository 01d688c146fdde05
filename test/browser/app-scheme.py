"""
A window of WebKitGTK whose page is on the scheme of an app, for app-scheme.test.ts: `app-scheme.py capacitor://localhost
http://127.0.0.1:PORT`. The files of the scheme are those of the site. Each title of the page is printed as a line.
"""

import sys
import urllib.request

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gio, GLib, Gtk, WebKit2  # noqa: E402

origin, site = sys.argv[1:]


def answer(request):
    with urllib.request.urlopen(site + request.get_path()) as response:
        data = response.read()
        stream = Gio.MemoryInputStream.new_from_bytes(GLib.Bytes.new(data))
        request.finish(stream, len(data), response.headers.get_content_type())


context = WebKit2.WebContext.get_default()
context.register_uri_scheme(origin.split(":")[0], answer)
view = WebKit2.WebView.new_with_context(context)
view.connect("notify::title", lambda *_: print(view.get_title(), flush=True))
window = Gtk.Window()
window.add(view)
window.show_all()
view.load_uri(origin + "/")
Gtk.main()
