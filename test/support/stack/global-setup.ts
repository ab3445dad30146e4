import type { TestProject } from "vitest/node";
import { removeData } from "../../../local/stack/data-folder.ts";
import { readWorkers, type Workers } from "../../../local/stack/stack-settings.ts";
import { startStack } from "../../../local/stack/start-stack.ts";
import { setQuickIntervals } from "./quick-settings.ts";
import { onServer } from "../../../local/postgres/on-server.ts";
import { makeTemplate } from "../database/make-template.ts";

/** What a test gets by `inject("stack")`: the addresses and keys of the one running stack. */
export type StackInfo = {
  url: string;
  publishableKey: string;
  secretKey: string;
  kickSecret: string;
  replicateToken: string;
  replicateWebhookSecret: string;
  signingKey: Record<string, string>;
  liteJwtSecret: string;
  databaseUrl: string;
  migrationUrl: string;
  simulatorUrl: string;
  functionUrls: Record<string, string>;
  functionPids: Record<string, number>;
  dataDir: string;
  workers: Workers;
  templateUrl: string;
  demoUser: { email: string; password: string };
};

declare module "vitest" {
  interface ProvidedContext {
    stack: StackInfo;
  }
}

/**
 * Starts the real stack once on free ports with a simulator that takes no time, short intervals and the dashboard,
 * and makes the template for database tests. All projects of the run use it.
 */
export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  const workers = readWorkers("KEYFRAME_TEST_WORKERS", Deno.env.get("KEYFRAME_TEST_WORKERS"));
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-test-" });
  const stack = await startStack({
    dataDir,
    port: 0,
    durable: false,
    databaseUrl: Deno.env.get("KEYFRAME_DATABASE_URL") || undefined,
    // A film of 640 pixels takes a second of a core, one of 160 a tenth.
    simulator: { startDelayMs: 0, runDelayMs: 0, imageWidth: 160 },
    dashboard: true,
    workers,
    onProblem: (line) => console.error(`stack: ${line}`),
  }).catch(async (error) => {
    await removeData(dataDir);
    throw error;
  });
  for (const note of stack.extensions.notes) console.error(`stack: ${note}`);
  await onServer(stack.databaseUrl, setQuickIntervals);
  const template = await makeTemplate(stack.databaseUrl, stack.keys.postgresPassword, dataDir);
  vitest.provide("stack", {
    ...stack.keys,
    url: stack.url,
    databaseUrl: stack.databaseUrl,
    migrationUrl: stack.migrationUrl,
    simulatorUrl: stack.simulator?.url ?? "",
    functionUrls: stack.functionUrls,
    functionPids: Object.fromEntries(
      Object.keys(stack.functionUrls).map((name) => [name, stack.children.get(name)?.pid ?? 0]),
    ),
    dataDir,
    workers,
    templateUrl: template.url,
    demoUser: stack.demoUser,
  });
  return async () => {
    await template.drop();
    await stack.stop();
    await removeData(dataDir);
  };
}
