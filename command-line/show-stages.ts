const REDRAW_MS = 100;
const NAME_WIDTH = 32;

/** A part of a start or of the demo, how long it took, and what it made. */
export type Stage = { name: string; ms: number; result?: string };

export type StageDisplay = {
  onStageStart: (name: string) => void;
  onStage: (stage: Stage) => void;
  onProblem: (line: string) => void;
  /** Ends the line of a stage that failed. */
  end: () => void;
};

/** Shows the current stage, on a terminal with its running time, and the time of each finished one. */
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
    onStage: ({ name, ms, result = "" }) => {
      const text = isTerminal ? `\r${line(name, ms)}` : line("", ms).slice(NAME_WIDTH + 2);
      leave(`${`${text}  ${result}`.trimEnd()}\n`);
    },
    onProblem: (text) => {
      const name = current?.name;
      leave("\n");
      write(`  ! ${text}\n`);
      if (name !== undefined) begin(name);
    },
    end: () => leave("\n"),
  };
}

/** Writes on standard output. When its terminal or pipe is closed nothing happens: what was started still has to stop in order. */
export function write(text: string): void {
  try {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  } catch {
    // Closed, see above.
  }
}
