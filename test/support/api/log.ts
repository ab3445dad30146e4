import { join } from "node:path";
import { inject } from "vitest";
import { z } from "zod";
import { until } from "../until.ts";

const line = z.looseObject({ event: z.string(), requestId: z.string().optional() });
type Line = z.infer<typeof line>;

const folder = () => join(inject("stack").dataDir, "logs");

/** The lines that the function `api` of the running stack has logged for these requests, once there is one of each. */
export async function loggedRequests(requestIds: string[]): Promise<Map<string, Line[]>> {
  return await until("a line in the log for each request", async () => {
    const found = new Map<string, Line[]>(requestIds.map((id) => [id, []]));
    for (const text of (await Deno.readTextFile(join(folder(), "api.log"))).split("\n")) {
      if (!text.startsWith("{") || !text.endsWith("}")) continue;
      const logged = line.safeParse(JSON.parse(text)).data;
      if (logged) found.get(logged.requestId ?? "")?.push(logged);
    }
    return [...found.values()].every((lines) => lines.length > 0) ? found : undefined;
  });
}

/** What every process of the stack has logged so far, by file. */
export function readLogs(): Map<string, string> {
  return new Map(
    [...Deno.readDirSync(folder())].map(({ name }) => [name, Deno.readTextFileSync(join(folder(), name))]),
  );
}
