import type { Example } from "./open-api.ts";
import type { ApiOperation } from "./operations-of.ts";

/** A command to paste into a shell where `TOKEN` is set. `functionsUrl` has no trailing slash. */
export function curlOf(operation: ApiOperation, example: Example, functionsUrl: string): string {
  const { method, callers } = operation;
  const isImage = operation.bodies.some(([type]) => type.startsWith("image/"));
  return [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quote(functionsUrl + pathOf(operation.path, example))}`,
    ...(callers.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(isImage ? ["-H 'Content-Type: image/png'", "--data-binary @photo.png"] : []),
    ...(example.body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(example.body, null, 2))}`]),
  ].join(" \\\n  ");
}

function pathOf(path: string, { path: values = {}, query = {} }: Example): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    values[name] === undefined ? whole : encodeURIComponent(values[name]),
  );
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

/** One word for any POSIX shell, whatever is in it. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
