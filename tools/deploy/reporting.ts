/** Why a deployment failed and what to do. The message never holds a secret. */
export class DeployError extends Error {
  override name = "DeployError";
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
