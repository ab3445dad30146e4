import * as supabaseJs from "@supabase/supabase-js";
import { expect, inject, test } from "vitest";
import * as client from "../../client/index.ts";
import { drawImage } from "../support/media/images.ts";

const readme = await Deno.readTextFile(new URL("../../client/README.md", import.meta.url));
const example = readme.match(/^```js\n(.*?)^```$/ms)?.[1] ?? "";

const MODULES: Record<string, Record<string, unknown>> = {
  "@supabase/supabase-js": { ...supabaseJs },
  "keyframe-client": { ...client },
};

/** What the example imports, by name. Throws for what does not exist. */
function imported(): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [, names = "", from = ""] of example.matchAll(/^import \{ (.+) \} from "(.+)";$/gm)) {
    for (const name of names.split(", ")) {
      if (MODULES[from]?.[name] === undefined) throw new Error(`${from} has no ${name}.`);
      found[name] = MODULES[from][name];
    }
  }
  return found;
}

test("the example of client/README.md → runs as it stands: progress shown, then a file to download", async () => {
  const { url, publishableKey } = inject("stack");
  const email = `readme-${crypto.randomUUID()}@keyframe.local`;
  const password = crypto.randomUUID();
  const { error } = await supabaseJs
    .createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } })
    .auth.signUp({ email, password });
  expect(error).toBeNull();

  const shown: unknown[][] = [];
  const given = {
    ...{ url, publishableKey, email, password, signal: AbortSignal.timeout(25_000) },
    ...{ photo: new Blob([await drawImage()]), show: (...what: unknown[]) => void shown.push(what) },
    ...imported(),
  };
  const body = `return (async () => {${example.replace(/^import .+$/gm, "")}; await supabase.auth.stopAutoRefresh();})();`;
  await new Function(...Object.keys(given), body)(...Object.values(given));

  expect(shown[0]?.[0]).toBe("queued");
  expect(shown.at(-2)?.slice(0, 2)).toEqual(["succeeded", 1]);
  const file = await fetch(String(shown.at(-1)?.[0]));
  expect([file.status, (await file.arrayBuffer()).byteLength > 1000]).toEqual([200, true]);
});
