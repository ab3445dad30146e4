/** Remembers what must never be printed. */
export type SecretKeeper = {
  add<T extends string | undefined>(secret: T): T;
  /** The text with every secret it holds replaced. */
  hide(text: string): string;
};

/** Shorter ones are no secrets, and would blank out ordinary words. */
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
