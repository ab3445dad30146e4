const WIDTH = 28;
const REDRAW_MS = 100;

/** A progress line. On a terminal it is redrawn in place; elsewhere only the last state is printed. */
export class ProgressBar {
  readonly #label: string;
  readonly #start = performance.now();
  readonly #write: (text: string) => void;
  readonly #redraw: ReturnType<typeof setInterval> | undefined;
  #fraction = 0;
  #status = "";

  constructor(label: string, write: (text: string) => void) {
    this.#label = label;
    this.#write = write;
    // Redraws the elapsed time between two states, which can be seconds apart.
    if (Deno.stdout.isTerminal()) this.#redraw = setInterval(() => this.#draw(), REDRAW_MS);
  }

  show(fraction: number, status: string): void {
    this.#fraction = fraction;
    this.#status = status;
    if (this.#redraw !== undefined) this.#draw();
  }

  /** Prints the last state and stops drawing. Must be called. */
  end(): void {
    clearInterval(this.#redraw);
    if (this.#redraw !== undefined) this.#draw();
    this.#write(this.#redraw === undefined ? `${this.#line()}\n` : "\n");
  }

  #draw(): void {
    // The escape sequence clears the rest of a longer line.
    this.#write(`\r${this.#line()}\x1b[K`);
  }

  #line(): string {
    const filled = Math.round(Math.min(1, Math.max(0, this.#fraction)) * WIDTH);
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1);
    const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
    const percent = String(Math.round(this.#fraction * 100)).padStart(3);
    return `  ${this.#label.padEnd(12)} ${bar} ${percent} %  ${this.#status.padEnd(10)} ${seconds} s`;
  }
}
