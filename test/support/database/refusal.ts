import postgres from "postgres";

/** What Postgres said when it refused: SQLSTATE, message, and the detail, constraint or hint when there is one. */
type Refusal = {
  sqlstate: string;
  message: string;
  detail: string | null;
  constraint: string | null;
  hint: string | null;
};

/** Waits for a refusal. A statement that goes through throws, so that no test passes by accident. */
export async function refusalOf(statement: PromiseLike<unknown>): Promise<Refusal> {
  try {
    await statement;
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    return {
      sqlstate: error.code,
      message: error.message,
      detail: error.detail || null,
      constraint: error.constraint_name ?? null,
      hint: error.hint || null,
    };
  }
  throw new Error("The statement was expected to be refused, but it went through.");
}

/** The stable code of an error that keyframe_private.raise_error raised; any other error is thrown on. */
export async function codeOf(statement: PromiseLike<unknown>): Promise<string> {
  const { sqlstate, message } = await refusalOf(statement);
  if (sqlstate !== "KEYFR") throw new Error(`Expected SQLSTATE KEYFR, got ${sqlstate}: ${message}`);
  return message;
}
