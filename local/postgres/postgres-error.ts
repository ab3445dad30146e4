type PostgresErrorCode =
  | "binaries_missing"
  | "no_server_user"
  | "port_busy"
  | "data_in_use"
  | "data_broken"
  | "data_other_version"
  | "data_not_ours"
  | "start_failed"
  | "given_unreachable"
  | "given_not_superuser"
  | "given_version";

/** A failure of the local database. Its message is one line that says what to do. */
export class PostgresError extends Error {
  constructor(
    readonly code: PostgresErrorCode,
    message: string,
  ) {
    super(message);
  }
}
