import { type Answer, findPlace, follow, type Header, hasPath, lookUp, pointerTo } from "./document.ts";
import { faultsOf } from "./schemas.ts";

type Seen = { method: string; path: string; status: number; headers: Headers; text: string };

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
  const faults = [...missing.map((name) => `the header ${name} is missing`), ...checkOpenHeaders(headers)];
  if (headers.has("etag") && promised.ETag === undefined) faults.push("there is an ETag of what has no version");
  if (isHead || content === undefined) return text === "" ? faults : [...faults, "there is a body"];

  const type = headers.get("content-type") ?? "";
  if (content[type] === undefined) return [...faults, `the content type ${type} is not documented`];
  const schema = `${pointer}${pointerTo("content", type, "schema").slice(1)}`;
  if (!type.startsWith("application/json")) return [...faults, ...faultsOf(text, schema)]; // text that tools read as it is
  const value = parse(text);
  if (value === undefined) return [...faults, "the body is not JSON"];
  return [...faults, ...faultsOf(value.json, schema), ...checkError(value.json, text, headers)];
}

/** The headers of every answer, with a body or without: any web page may read it, and nobody may keep it. */
function checkOpenHeaders(headers: Headers): string[] {
  const wanted = {
    "x-request-id": /^[A-Za-z0-9._-]{1,128}$/,
    "access-control-allow-origin": /^\*$/,
    "cache-control": /^no-store$/,
    "x-content-type-options": /^nosniff$/,
  };
  const wrong = Object.entries(wanted).filter(([name, shape]) => !shape.test(headers.get(name) ?? ""));
  return wrong.map(([name]) => `the header ${name} is ${headers.get(name)}`);
}

/** What a schema cannot say of an error: a sentence for a person, which may begin with the name of a field or a model, and no internals. */
function checkError(answer: unknown, text: string, headers: Headers): string[] {
  const { error } = Object(answer);
  if (!error) return [];
  const isSentence = /^[A-Za-z].*\.$/s.test(error.message);
  const internals = /\\n\s+at |PostgresError|lease_token|provider_output_url/.exec(text)?.[0];
  return [
    ...(isSentence ? [] : [`the message is not a sentence: ${error.message}`]),
    ...(internals === undefined ? [] : [`it says ${internals}`]),
    ...(headers.get("x-request-id") === error.requestId ? [] : ["header and body have another request id"]),
  ];
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
  const wanted = ["allow-methods", "allow-headers", "max-age"].map((name) => `access-control-${name}`);
  return [
    ...checkOpenHeaders(headers),
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
