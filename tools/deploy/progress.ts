/** Says what is being waited for, every few seconds of a wait. */
export type Progress = {
  /** Settles as `work` does; meanwhile says what is being done and for how long. */
  during<T>(doing: string | (() => string), work: Promise<T>): Promise<T>;
};

const EVERY_MS = 5_000;

export function createProgress(print: (line: string) => void): Progress {
  return {
    during: async (doing, work) => {
      let seconds = 0;
      const timer = setInterval(() => {
        seconds += EVERY_MS / 1000;
        print(`    … ${typeof doing === "string" ? doing : doing()}, ${seconds} s so far`);
      }, EVERY_MS);
      try {
        return await work;
      } finally {
        clearInterval(timer);
      }
    },
  };
}
