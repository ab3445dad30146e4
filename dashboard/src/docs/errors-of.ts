import type { Response } from "./open-api.ts";

export type ErrorRow = { status: string; code: string | null; meaning: string };

/** The answers from 300 on, one row for each code: a description is a paragraph "`code`: meaning" for each. */
export function errorsOf(responses: [status: string, response: Response][]): ErrorRow[] {
  return responses
    .filter(([status]) => Number.parseInt(status, 10) >= 300)
    .flatMap(([status, { description = "" }]) =>
      description.split("\n\n").map((paragraph) => {
        const [, code, meaning] = /^`([a-z_]+)`: (.*)$/s.exec(paragraph) ?? [];
        return { status, code: code ?? null, meaning: meaning ?? paragraph };
      }),
    );
}
