import type { Log } from "../../../shared/platform/log.ts";
import type { Database } from "./database.ts";
import type { OutputSource } from "./files/open-output.ts";
import type { Provider } from "./provider/provider.ts";
import type { Storage } from "./files/storage.ts";

/** The dependencies of the tasks. */
export type Deps = {
  database: Database;
  provider: Provider;
  storage: Storage;
  outputs: OutputSource;
  /** The URL at which the provider reaches the platform for callbacks and input files; null when it cannot. */
  publicUrl: string | null;
  platformUrl: string;
  log: Log;
  /** Milliseconds since 1970. */
  now(): number;
};
