/** Why a deployment failed and what to do. The message never holds a secret. */
export class DeployError extends Error {
  override name = "DeployError";
}

/** Prints every few seconds what a wait is for: a line each, because a deployment is read afterwards in a log (showStages redraws its line). */
export type Progress = {
  /** Settles as `work` does; meanwhile prints what is being done and for how long. */
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

/** Hides secrets in printed text. */
export type SecretKeeper = {
  add<T extends string | undefined>(secret: T): T;
  /** The text with every known secret replaced. */
  hide(text: string): string;
};

/** Shorter values would hide ordinary words. */
const SHORTEST = 8;

export function createSecretKeeper(): SecretKeeper {
  const secrets = new Set<string>();
  return {
    add: (secret) => {
      if (secret !== undefined && secret.length >= SHORTEST) secrets.add(secret);
      return secret;
    },
    hide: (text) => [...secrets].reduce((hidden, secret) => hidden.replaceAll(secret, "…"), text),
  };
}
