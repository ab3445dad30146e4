import { type Answer, findPlace, follow, type Header, hasPath, lookUp, pointerTo } from "./document.ts";
import { faultsOf } from "./schemas.ts";

/** What came back for a request. `path` begins with /api, `text` is the body. */
export type Seen = { method: string; path: string; status: number; headers: Headers; text: string };

/** What about an answer is not as openapi.json has it. */
export function checkAnswer({ method, path, status, headers, text }: Seen): string[] {
  if (method === "OPTIONS") return checkPreflight(status, headers, text);
  const isHead = method === "HEAD";
  const pointer = answerPointer(isHead ? "GET" : method, path, status);
  if (pointer === undefined) return [`the status ${status} is not documented; the body is ${text.slice(0, 500)}`];
  // `follow` ends at an answer: those are the only things that stand in `responses`.
  const { headers: promised = {}, content } = lookUp(pointer) as Answer;
  const missing = Object.keys(promised).filter((name) => {
    const header = lookUp(follow(`${pointer}${pointerTo("headers", name).slice(1)}`)) as Header;
    return header.required === true && !headers.has(name);
  });
  const faults = missing.map((name) => `the header ${name} is missing`);
  if (isHead || content === undefined) return text === "" ? faults : [...faults, "there is a body"];

  const type = headers.get("content-type") ?? "";
  if (content[type] === undefined) return [...faults, `the content type ${type} is not documented`];
  const schema = `${pointer}${pointerTo("content", type, "schema").slice(1)}`;
  if (!type.startsWith("application/json")) return [...faults, ...faultsOf(text, schema)]; // text that tools read as it is
  const value = parse(text);
  return [...faults, ...(value === undefined ? ["the body is not JSON"] : faultsOf(value.json, schema))];
}

/** Where the answer of this status is described. Whatever has no operation is the one or the other error. */
function answerPointer(method: string, path: string, status: number): string | undefined {
  const place = findPlace(method, path);
  if (place?.described.responses[status] !== undefined) {
    return follow(`${place.pointer}${pointerTo("responses", String(status)).slice(1)}`);
  }
  if (place !== undefined) return undefined;
  if (status === 404) return "#/components/responses/NotFoundOrUserNotFound";
  return status === 405 && hasPath(path) ? "#/components/responses/MethodNotAllowed" : undefined;
}

function checkPreflight(status: number, headers: Headers, text: string): string[] {
  const wanted = ["allow-origin", "allow-methods", "allow-headers", "max-age"].map((name) => `access-control-${name}`);
  return [
    ...(status === 204 && text === "" ? [] : [`a preflight is 204 without a body, not ${status} ${text}`]),
    ...wanted.filter((name) => !headers.has(name)).map((name) => `the header ${name} is missing`),
  ];
}

function parse(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
