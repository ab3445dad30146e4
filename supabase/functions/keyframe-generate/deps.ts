import type { Log } from "../../../shared/platform/log.ts";
import type { Database } from "./database.ts";
import type { OutputSource } from "./files/open-output.ts";
import type { Provider } from "./provider/provider.ts";
import type { Storage } from "./files/storage.ts";

/** What the tasks work with. */
export type Deps = {
  database: Database;
  provider: Provider;
  storage: Storage;
  outputs: OutputSource;
  /** Where the provider reaches us for callbacks and input files, as `platformUrl` would; null where it cannot. */
  publicUrl: string | null;
  platformUrl: string;
  log: Log;
  /** Milliseconds since 1970. */
  now(): number;
};
