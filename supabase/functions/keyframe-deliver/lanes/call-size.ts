/** How much one call may claim. `bytes`: of bodies, as exchange_deliveries counts them. */
export type CallSize = { lanes: number; deliveries: number; bytes: number };

/** A call must not bring more than its time allows: bodies have up to 33 kB. With 20 kB each lane that is taken gets one. */
export const LARGEST_CALL: CallSize = { lanes: 100, deliveries: 800, bytes: 2_000_000 };

/** Of the largest call; a lane then gets a body as before. */
const SMALLEST_PART = 1 / 64;

/** How much the next call may claim: a quarter after one that failed, as one that took too long, and twice as much after each success. */
export function createCallSize() {
  let part = 1;
  let hasFailed = false;
  return {
    /** The last call has. */
    hasFailed: () => hasFailed,
    next: (): CallSize => ({
      lanes: Math.ceil(LARGEST_CALL.lanes * part),
      deliveries: Math.ceil(LARGEST_CALL.deliveries * part),
      bytes: Math.ceil(LARGEST_CALL.bytes * part),
    }),
    failed(): void {
      hasFailed = true;
      part = Math.max(SMALLEST_PART, part / 4);
    },
    succeeded(): void {
      hasFailed = false;
      part = Math.min(1, part * 2);
    },
  };
}
