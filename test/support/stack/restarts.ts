import type postgres from "postgres";
import type { OwnStack } from "./own-stack.ts";
import { until } from "../until.ts";

/** Kills a process of the stack as a crash would, and waits until its supervisor has started another. */
export async function killAndAwaitRestart(stack: OwnStack, ...names: string[]): Promise<void> {
  const before = names.map((name) => ({ child: stack.child(name), pid: stack.child(name).pid }));
  for (const { child } of before) child.kill("SIGKILL");
  for (const { child, pid } of before) {
    await until(`${child.name} runs again`, async () => child.pid !== undefined && child.pid !== pid);
  }
  await until("the functions answer again", async () => {
    const response = await fetch(`${stack.url}/functions/v1/api/health`).catch(() => null);
    await response?.body?.cancel();
    return response?.ok;
  });
}

/** Lets the time pass that the lease of a prediction still has, if one is held. */
export async function letLeaseRunOut(sql: postgres.Sql, predictionId: string): Promise<void> {
  await sql`
    update keyframe_private.work set due_at = now() - interval '1 second'
    where subject = ${predictionId} and state = 'leased'`;
}

/** Waits until no worker claims: later work needs a kick. A worker claims once more just after its heartbeat has ended. */
export async function untilNobodyLooks(sql: postgres.Sql): Promise<void> {
  await until("no worker claims", async () => {
    const looking = await sql`
      select from keyframe_private.heartbeats where alive_until > now() or claimed_at > now() - interval '1 second'`;
    return looking.length === 0;
  });
}
