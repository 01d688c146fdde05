/**
 * The command `completion`: prints the script that completes commands and options in a shell. The script calls the hidden command
 * `complete` at each key press.
 */

import { Argument, Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];

/**
 * Load the package on demand, because it reads all commands, which only completion needs. It writes to standard output itself.
 */
async function loadTab(program: Command) {
  const { default: tab } = await import('@bomb.sh/tab/commander');
  return tab(program, { completionCommandName: 'completion-of-tab' });
}

export function completionCommand(createProgram: () => Command): Command {
  return new Command('completion')
    .description('print the script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: string) => (await loadTab(createProgram())).setup('tessera', 'tessera', shell));
}

/** Create the hidden command `complete`, which the scripts call: `tessera complete -- map --d`. */
export function completeCommand(createProgram: () => Command): Command {
  return new Command('complete')
    .argument('[words...]', 'the words of the command line so far')
    .allowUnknownOption()
    .action(async (words: string[]) => (await loadTab(createProgram())).parse(words));
}
