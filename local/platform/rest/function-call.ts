import { type RestError, respondWith, restRefusal } from "./error.ts";

/** A SQL function as the catalog has it. */
export type RestFunction = {
  schema: string;
  name: string;
  /** The names of the arguments, in order. */
  arg_names: string[];
  arg_types: string[];
  /** How many of the last arguments have a default. */
  arg_defaults: number;
  has_variadic: boolean;
  return_type: string;
  return_is_setof: boolean;
  /** pg_type.typtype: c is a row. */
  return_typtype: string;
  has_out_args: boolean;
  /** The function's own statement_timeout. */
  timeLimit?: string | undefined;
};

/** The Data API's max_rows, as in supabase/config.toml. */
const MAX_ROWS = 1_000;

/** For a list, the first object names the arguments; any other value names none. */
export type Arguments = { body: string; names: string[]; isList: boolean };

/** Undefined if the text is not JSON. */
export function readArguments(sent: string): Arguments | undefined {
  const body = sent === "" ? "{}" : sent;
  try {
    const value: unknown = JSON.parse(body, refuseLoneSurrogates(body));
    const isList = Array.isArray(value);
    const named: unknown = isList ? value[0] : value;
    return { body, isList, names: named !== null && typeof named === "object" ? Object.keys(named) : [] };
  } catch {
    return undefined;
  }
}

/** JavaScript accepts half of a surrogate pair. PostgREST refuses it. */
function refuseLoneSurrogates(body: string): ((name: string, value: unknown) => unknown) | undefined {
  if (!/\\ud[89a-f]/i.test(body)) return undefined;
  return (name, value) => {
    if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) throw new SyntaxError();
    return value;
  };
}

export const invalidJson = (): RestError => restRefusal(400, "PGRST102", "Empty or invalid json");

/** The function that takes these arguments. Undefined if none or several match; lite then reports it. */
export function chooseFunction(functions: RestFunction[], names: string[]): RestFunction | undefined {
  const takes = ({ arg_names, arg_types, arg_defaults }: RestFunction) =>
    arg_names.length === arg_types.length &&
    arg_names.every((name) => name !== "") &&
    names.every((name) => arg_names.includes(name)) &&
    arg_names.slice(0, arg_names.length - arg_defaults).every((name) => names.includes(name));
  const found = functions.filter(takes);
  return found.length === 1 ? found[0] : undefined;
}

/** What statementOf selects. */
export type CallAnswer = { body: string | null; rows: number; status: string | null };

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** The statement that calls the function with the body as $1. Postgres reads the arguments from it, and writes the answer. */
export function statementOf(called: RestFunction, { names, isList }: Arguments): string {
  const { schema, name, arg_names, arg_types, has_variadic, return_is_setof: isSet } = called;
  const given = arg_names.filter((arg) => names.includes(arg));
  const types = given.map((arg) => `${quote(arg)} ${arg_types[arg_names.indexOf(arg)]}`).join(", ");
  const values = given.map((arg) => {
    const variadic = has_variadic && arg === arg_names.at(-1) ? "variadic " : "";
    return `${variadic}${quote(arg)} := args.${quote(arg)}`;
  });
  const call = `${quote(schema)}.${quote(name)}(${values.join(", ")})`;
  const json = isList ? "$1::text::json -> 0" : "$1::text::json";
  const args = given.length > 0 ? `json_to_record(${json}) as args(${types})` : "(select $1::text) args";
  const rows = returnsRow(called)
    ? `select result.* from ${args}, lateral ${call} result`
    : `select ${call} as value from ${args}`;
  const value = returnsRow(called) ? "called" : "called.value";
  const all = `json_agg(${value})`;
  return `
    select ${isSet ? all : `(${all} -> 0)`}::text as body, count(*)::int as rows,
      nullif(current_setting('response.status', true), '') as status
    from (${rows} limit ${MAX_ROWS}) called`;
}

const returnsRow = ({ has_out_args, return_typtype, return_type }: RestFunction) =>
  has_out_args || return_typtype === "c" || return_type.endsWith("record");

export function respondToCall(called: RestFunction, answer: CallAnswer): Response {
  const { schema, return_is_setof: isSet, return_type } = called;
  const last = isSet ? answer.rows - 1 : 0;
  const headers = new Headers({
    "content-type": "application/json; charset=utf-8",
    "content-profile": schema,
    "content-range": last < 0 ? "*/*" : `0-${last}/*`,
  });
  const isEmpty = return_type === "void" && !isSet;
  const status = answer.status === null ? (isEmpty ? 204 : 200) : Number(answer.status);
  if (!(status >= 200 && status <= 599))
    return respondWith(restRefusal(500, "PGRST112", "response.status guc must be a valid status code"));
  if (!isEmpty) return new Response(answer.body ?? (isSet ? "[]" : "null"), { status, headers });
  headers.delete("content-type");
  return new Response(null, { status, headers });
}
