import { z } from "zod";
import { oneLine } from "../../local/stack/command-line.ts";
import { CheckFailed } from "./check-failed.ts";
import { type ModelRow, modelColumns, modelRow } from "./model-row.ts";
import { parseJson } from "./parse-json.ts";

const PATIENCE_MS = 30_000;

/** Reads the rows through the Data API of a Supabase project, with its secret key. Throws CheckFailed, without the key. */
export async function rowsFromProject(url: string, secretKey: string, fetcher: typeof fetch): Promise<ModelRow[]> {
  const query = `select=${modelColumns.join(",")}&order=step,is_default.desc,model`;
  const address = `${url.replace(/\/+$/, "")}/rest/v1/models`;
  let response: Response;
  let text: string;
  try {
    const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}`, "accept-profile": "keyframe" };
    // Not followed: the key is for this host alone.
    response = await fetcher(`${address}?${query}`, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    text = await response.text();
  } catch (error) {
    throw new CheckFailed(`${address} cannot be reached: ${oneLine(error)}`);
  }
  if (response.status === 401 || response.status === 403) {
    throw new CheckFailed(`${address} refuses the key (${response.status}): it has to be the project's secret key.`);
  }
  if (!response.ok) throw new CheckFailed(`${address} answered ${response.status}: ${text.slice(0, 200)}`);
  const parsed = z.array(modelRow).safeParse(parseJson(text));
  if (!parsed.success) throw new CheckFailed(`${address} answered with no rows of models: is SUPABASE_URL right?`);
  return parsed.data;
}
