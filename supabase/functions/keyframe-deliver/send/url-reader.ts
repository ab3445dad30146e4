import type { AddressRules } from "../../../../shared/webhooks/check-address.ts";
import { checkUrl } from "../../../../shared/webhooks/check-url.ts";

/** More than a process has endpoints at a time; a few megabytes if each is as long as it may be. */
const MOST_REMEMBERED = 1_000;

/**
 * Reads an endpoint's URL, null when checkUrl refuses it. What it says of a text is always the same, and deliveries come to few
 * endpoints, so it is remembered; what a name resolves to is not, and is checked at each connection.
 */
export function createUrlReader(rules: AddressRules): (text: string) => URL | null {
  const remembered = new Map<string, URL | null>();
  return (text) => {
    let url = remembered.get(text);
    if (url === undefined) {
      url = checkUrl(text, rules) === null ? new URL(text) : null;
      if (remembered.size >= MOST_REMEMBERED) remembered.clear();
      remembered.set(text, url);
    }
    return url;
  };
}
