/**
 * SIGUSR1 makes Node open a debugger, without a password, until a program has its own handler. On this address it can't
 * be opened: a link-local address without an interface is refused by `bind`. (`--disable-sigusr1` blocks the signal
 * altogether, which keeper and logger need, and an older Node doesn't start with it.)
 */
export const NO_DEBUGGER = "--inspect-port=[fe80::ffff]:9229";
