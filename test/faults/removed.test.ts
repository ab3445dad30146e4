import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { removalSql } from "../../tools/install/plan-remove.ts";
import { readSource } from "../../tools/install/source.ts";
import { connect, type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { until } from "../support/until.ts";

let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(() => stack.stop());

test("Keyframe is removed while its schemas are exposed → the app's tables still answer; dropped too early → the guide helps", async () => {
  const owner = connect(stack.running.migrationUrl, 1);
  await owner`create table public.halls (name text)`;
  await owner`grant select on public.halls to anon`;
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${stack.url}/rest/v1/${path}`, {
      headers: { apikey: stack.publishableKey, ...headers },
    });
    return [answer.status, (await answer.json()).code];
  };
  await until("the table is served", async () => (await ask("halls"))[0] === 200);

  const removal = removalSql(await readSource(PROJECT_ROOT), []);
  await untilNobodyLooks(stack.sql);
  await owner.unsafe(removal);
  // The schema is read again once its functions are no longer known.
  const health = () => ask("rpc/health", { "content-profile": "keyframe", "accept-profile": "keyframe" });
  await until("the Data API has noticed", async () => (await health())[0] !== 200);
  expect(await health()).toEqual([404, "PGRST202"]);
  expect(await ask("halls")).toEqual([200, undefined]);

  await owner`drop schema keyframe, keyframe_worker`; // while they are exposed
  await until("the Data API has noticed", async () => (await ask("halls"))[1] === "PGRST002");
  const page = await Deno.readTextFile(join(PROJECT_ROOT, "docs/when-it-fails.md"));
  const [, remedy = ""] = /`PGRST002`.* At once: `([^`]*)`/.exec(page) ?? [];
  await owner.unsafe(remedy);
  await until("it answers again", async () => (await ask("halls"))[0] === 200);
  await owner.end();
});
