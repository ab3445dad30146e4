import type { Stage } from "./stack-types.ts";

const REDRAW_MS = 100;
const NAME_WIDTH = 32;

export type StageDisplay = {
  onStageStart: (name: string) => void;
  onStage: (stage: Stage) => void;
  /** A line that belongs to no stage. */
  onProblem: (line: string) => void;
  /** Leaves the line of a stage that will not end. */
  end: () => void;
};

/** Shows the stage that is being waited for, on a terminal with its running time, and each finished one with its time. */
export function showStages(write: (text: string) => void, isTerminal: boolean): StageDisplay {
  let current: { name: string; start: number; timer: ReturnType<typeof setInterval> | undefined } | undefined;
  const leave = (ending: string) => {
    clearInterval(current?.timer);
    if (current) write(ending);
    current = undefined;
  };
  const line = (name: string, ms: number) => `  ${name.padEnd(NAME_WIDTH)}${String(Math.round(ms)).padStart(6)} ms`;
  const begin = (name: string) => {
    const start = performance.now();
    const redraw = () => write(`\r${line(name, performance.now() - start)}`);
    const timer = isTerminal ? setInterval(redraw, REDRAW_MS) : undefined;
    current = { name, start, timer };
    write(`  ${name.padEnd(NAME_WIDTH)}`);
  };
  return {
    onStageStart: begin,
    onStage: ({ name, ms }) => leave(isTerminal ? `\r${line(name, ms)}\n` : `${line("", ms).slice(NAME_WIDTH + 2)}\n`),
    onProblem: (text) => {
      const name = current?.name;
      leave("\n");
      write(`  ! ${text}\n`);
      if (name !== undefined) begin(name);
    },
    end: () => leave("\n"),
  };
}
