/** A way of telling receivers what happened: from rows committed in a transaction to recorded outcomes. */
export type Way = {
  name: string;
  /**
   * Commits so many events in one transaction, spread over these endpoints. Returns when COMMIT was sent, in ms since 1970.
   */
  commit(events: number, endpoints: number[]): Promise<number>;
  /** Whether the outcome of some event is not recorded yet. */
  isOpen(): Promise<boolean>;
  close(): Promise<void>;
};

/** Now, in ms since 1970 and fractions of one. */
export const wallClock = (): number => performance.timeOrigin + performance.now();
