import { join } from "node:path";

const JUMP_EVERY_MS = 700;

/** How far a clock is ahead, in ms; below 0: behind. One that `jumps` goes wrong and right again all the while. */
export type WrongClock = { aheadMs: number; jumps: boolean };

/**
 * Writes a module that moves Date, which Deno runs before the function's own (--preload), and returns its path. Timers and
 * performance.now() stay as they are: those clocks do not jump on a machine either.
 */
export async function writeClock(dataDir: string, { aheadMs, jumps }: WrongClock): Promise<string> {
  const file = join(dataDir, `clock-${aheadMs}-${jumps}.js`);
  await Deno.writeTextFile(
    file,
    `const isRight = () => ${jumps} && Math.floor(performance.now() / ${JUMP_EVERY_MS}) % 2 === 1;
const ahead = () => isRight() ? 0 : ${aheadMs};
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + ahead());
    else super(...given);
  }
  static now() {
    return Real.now() + ahead();
  }
};
`,
  );
  return file;
}
