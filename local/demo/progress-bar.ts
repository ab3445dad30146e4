const WIDTH = 28;

/** Draws one line that fills up. On a terminal it is redrawn in place; elsewhere only the last state is printed. */
export class ProgressBar {
  readonly #label: string;
  readonly #start = performance.now();
  readonly #write: (text: string) => void;

  constructor(label: string, write: (text: string) => void) {
    this.#label = label;
    this.#write = write;
  }

  show(fraction: number, status: string): void {
    // The escape sequence clears what a longer line before has left.
    if (Deno.stdout.isTerminal()) this.#write(`\r${this.#line(fraction, status)}\x1b[K`);
  }

  end(fraction: number, status: string): void {
    this.show(fraction, status);
    this.#write(Deno.stdout.isTerminal() ? "\n" : `${this.#line(fraction, status)}\n`);
  }

  #line(fraction: number, status: string): string {
    const filled = Math.round(Math.min(1, Math.max(0, fraction)) * WIDTH);
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1);
    const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
    return `  ${this.#label.padEnd(12)} ${bar} ${String(Math.round(fraction * 100)).padStart(3)} %  ${status.padEnd(10)} ${seconds} s`;
  }
}
