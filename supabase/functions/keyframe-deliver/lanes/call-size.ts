/** How much one call may claim. `bytes`: of bodies, as exchange_deliveries counts them. */
export type CallSize = { lanes: number; deliveries: number; bytes: number };

/** A body has up to 20 kB, so each lane that is taken gets at least one. A call must not bring more than its time allows. */
export const LARGEST_CALL: CallSize = { lanes: 100, deliveries: 800, bytes: 2_000_000 };

/** Of the largest call; a lane then gets a body as before. */
const SMALLEST_PART = 1 / 64;

/** How much the next call may claim: a quarter after one that failed, as one that took too long, and twice as much after each success. */
export function createCallSize() {
  let part = 1;
  return {
    hasFailed: () => part < 1,
    next: (): CallSize => ({
      lanes: Math.ceil(LARGEST_CALL.lanes * part),
      deliveries: Math.ceil(LARGEST_CALL.deliveries * part),
      bytes: Math.ceil(LARGEST_CALL.bytes * part),
    }),
    failed(): void {
      part = Math.max(SMALLEST_PART, part / 4);
    },
    succeeded(): void {
      part = Math.min(1, part * 2);
    },
  };
}
