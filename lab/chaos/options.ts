export type ChaosOptions = {
  seed: number;
  /** How long load and faults last; settling and checking come after. */
  durationMs: number;
  users: number;
  /** A folder that only this run uses. */
  dataDir: string;
  /** KEYFRAME_DATABASE_URL: an empty database to use. */
  databaseUrl?: string | undefined;
  settleSeconds: number;
  /** Only these scenarios of isolation, and neither load nor faults. */
  scenarios?: readonly string[] | undefined;
  say(line: string): void;
  /** Ends load and faults early; the invariants are still checked. */
  signal?: AbortSignal | undefined;
};
