import { type ApiOperation, operationsOf } from "../../dashboard/src/docs/operations-of.ts";
import { readDocument } from "../../dashboard/src/docs/read-document.ts";
import { openApiDocument } from "../../shared/contract/openapi/index.ts";

export const FUNCTIONS_URL = "https://abc.supabase.co/functions/v1";

/** The document as it comes over the network. */
export const document = readDocument(JSON.parse(JSON.stringify(openApiDocument(FUNCTIONS_URL, "1.2.3"))));

export const operations = operationsOf(document);

export function operation(id: string): ApiOperation {
  const found = operations.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no operation ${id}.`);
  return found;
}
