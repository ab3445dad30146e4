import type { ApiDocument, Header, Response, Schema } from "./open-api.ts";
import { resolve } from "./resolve.ts";

type Row = { name: string; isRequired: boolean; description: string; schema: Schema };

/** The headers of an answer. Which of them always come is not told: nobody has to send them. */
export function headerRows(document: ApiDocument, { headers = {} }: Response): Row[] {
  return Object.entries(headers).flatMap(([name, header]) => {
    const found = resolve<Header>(document, header);
    if (found === undefined) return [];
    return [{ name, isRequired: false, description: found.description ?? "", schema: found.schema ?? {} }];
  });
}
