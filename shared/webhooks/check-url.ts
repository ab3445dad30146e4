import { type AddressRules, checkAddress } from "./check-address.ts";

const MAX_CHARACTERS = 2048;
const FIRST_UNPRIVILEGED_PORT = 1024;

/** Names that mean something only inside a network. What other names resolve to is checked when connecting. */
const INSIDE = ["localhost", "localdomain", "local", "internal", "intranet", "lan", "corp", "home", "home.arpa"];

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Why a webhook URL may not be used, as a sentence for its owner; null when it may. Looks at the text alone, so it serves
 * registration; checkAddress decides about what the name resolves to, at connect time.
 * The URL parser undoes the disguises of a host (decimal, octal, hex, short forms, percent signs, wide digits), and its
 * reading is the one that is connected to. The characters refused here are also refused by the table's own check.
 */
export function checkUrl(given: string, rules: AddressRules = {}): string | null {
  const { allowLocal = false } = rules;
  if (given.length > MAX_CHARACTERS) return `The URL is longer than ${MAX_CHARACTERS} characters.`;
  if (/[\s\p{C}\\]/u.test(given)) return "The URL must not contain spaces, control characters or backslashes.";
  if (given.includes("@")) return "The URL must not carry a user name or password. Write an @ in its path as %40.";
  if (given.includes("#")) return "The URL must not have a fragment (#).";
  if (!(allowLocal ? /^https?:\/\/[^/?]/ : /^https:\/\/[^/?]/).test(given)) return "The URL must begin with https://.";
  if (!URL.canParse(given)) return "The URL cannot be read. Check its host and port.";
  const { hostname, port } = new URL(given);
  if (port !== "" && port !== "443" && Number(port) < FIRST_UNPRIVILEGED_PORT) {
    return `The port must be 443 or at least ${FIRST_UNPRIVILEGED_PORT}.`;
  }
  return checkHost(hostname, rules);
}

function checkHost(host: string, rules: AddressRules): string | null {
  if (host.startsWith("[")) return checkAddress(host.slice(1, -1), rules);
  if (IPV4.test(host)) return checkAddress(host, rules);
  const name = host.replace(/\.+$/, "");
  const inside = INSIDE.find((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  if (name === host && inside === "localhost" && rules.allowLocal) return null;
  if (inside !== undefined) return `The host must be public: names under ${inside} are not.`;
  if (name !== host) return "Write the host without the dot at its end.";
  if (!NAME.test(host)) return "The host must be a full, public name such as hooks.example.com.";
  return null;
}
