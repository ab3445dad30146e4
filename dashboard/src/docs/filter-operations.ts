import type { ApiOperation } from "./operations-of.ts";

/** Those in which every word of the filter occurs, whatever its case. */
export function filterOperations(operations: ApiOperation[], filter: string): ApiOperation[] {
  return operations.filter(({ id, tag, method, path, summary }) =>
    hasWords(`${id} ${tag} ${method} ${path} ${summary}`, filter),
  );
}

export function hasWords(text: string, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}
