import type { Api, CallOptions, StartOptions } from "./operate.ts";
import type { BodyOf } from "./types.ts";

export function keyMethods({ call }: Api) {
  return {
    /** Creates a key. Only this answer contains `key`. Needs a session: a key cannot make keys. */
    create: (json: BodyOf<"createKey">, options: StartOptions = {}) => call("createKey", {}, { ...options, json }),

    /** Lists keys, newest first, with those that ended in the last 30 days. */
    list: async (options: CallOptions = {}) => (await call("listKeys", {}, options)).keys,

    /** Ends a key at once. */
    revoke: (keyId: string, options: CallOptions = {}) => call("revokeKey", { keyId }, options),
  };
}
