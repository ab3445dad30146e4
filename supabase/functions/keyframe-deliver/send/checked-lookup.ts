import { type AddressRules, checkAddress } from "../../../../shared/webhooks/check-url.ts";
import { SendError } from "./send-error.ts";

/** Resolves a name to all its A and AAAA addresses. Without any, it rejects or returns an empty list. */
export type Resolve = (hostname: string) => Promise<{ address: string }[]>;

/** The addresses to connect to, at least one. Throws SendError. */
export type CheckedLookup = (hostname: string) => Promise<string[]>;

/**
 * The connection uses the returned addresses, so nothing can change after the check. One forbidden address among several refuses the name. A
 * host that is an IP address is not looked up: checkUrl checks it.
 */
export function createCheckedLookup(resolve: Resolve, rules: AddressRules): CheckedLookup {
  return async (hostname) => {
    const found = await resolve(hostname).catch(() => []);
    if (found.length === 0) throw new SendError("dns", "The host name does not resolve.");
    for (const { address } of found) {
      const reason = checkAddress(address, rules);
      if (reason !== null) throw new SendError("address", reason);
    }
    return found.map(({ address }) => address);
  };
}
