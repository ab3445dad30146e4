import type postgres from "postgres";
import { expect } from "vitest";
import type { Prediction } from "../../../shared/contract/predictions.ts";
import { until } from "../until.ts";

type EndedRow = {
  status: string;
  attempt: number;
  error_code: string | null;
  error_message: string | null;
  error_retryable: boolean | null;
  output_path: string | null;
  completed_at: Date;
};

/**
 * Checks what holds after every end, whatever led to it: no run is left to cancel, and Storage has
 * the output if, and only if, the prediction succeeded. Returns the row.
 */
export async function expectSoundEnd(sql: postgres.Sql, { predictionId }: Prediction): Promise<EndedRow> {
  const [row] = await sql<EndedRow[]>`select * from keyframe.predictions where id = ${predictionId}`;
  if (!row) throw new Error(`There is no prediction ${predictionId}.`);
  expect(["succeeded", "failed", "canceled"]).toContain(row.status);
  expect(row.completed_at).toBeInstanceOf(Date);
  const wanted = row.status === "succeeded" ? row.output_path : null;
  await until(`Storage holds ${wanted ?? "nothing"} of ${predictionId}, and no run is left to cancel`, async () => {
    const [seen] = await sql<{ files: string | null; runs: number }[]>`
      select
        (select string_agg(name, ' ') from storage.objects where name like ${`%${predictionId}%`}) as files,
        (select count(*)::int from keyframe_private.work where subject = ${predictionId} and kind = 'cancel') as runs`;
    return seen?.files === wanted && seen.runs === 0;
  });
  return row;
}

/** The whole row as text, to show that nothing at all has changed. */
export async function wholeRow(sql: postgres.Sql, predictionId: string): Promise<string> {
  const [row] = await sql<{ text: string }[]>`
    select to_jsonb(p)::text as text from keyframe.predictions p where id = ${predictionId}`;
  if (!row) throw new Error(`There is no prediction ${predictionId}.`);
  return row.text;
}

/** Fetches an output as an app does and checks it against the API's answer. */
export async function download({ output }: Pick<Prediction, "output">): Promise<Uint8Array<ArrayBuffer>> {
  if (!output) throw new Error("The prediction has no output.");
  const response = await fetch(output.url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe(output.contentType);
  expect(bytes.length).toBe(output.bytes);
  expect(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex()).toBe(output.sha256);
  return bytes;
}
