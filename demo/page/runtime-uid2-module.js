import { operator } from '/common.js';
import { firstSet, measure, showFailure } from '/runtime.js';

// region compare-uid2-module
const { pbjs } = window;
firstSet()
  .then((uid2Token) => {
    pbjs.setConfig({
      // The network is real, so a request takes sixty times as long by the clock of this page.
      disableAjaxTimeout: true,
      userSync: { userIds: [{ name: 'uid2', params: { uid2Token, uid2ApiBase: operator } }] },
    });
    // The module checks its token when user IDs are requested, as before an auction: here every 30 s.
    setInterval(() => pbjs.refreshUserIds({ submoduleNames: ['uid2'] }).catch(() => {}), 30_000);
    measure(
      'Prebid 11, module uid2',
      'The module refreshes by itself; one auction every 30 s, half a second here.',
      () => pbjs.getUserIds().uid2?.id,
    );
  })
  .catch(showFailure);
// endregion
