/** How large a call may be: a quarter after one that failed, as one that took too long, and twice as large after each success. */
export function createCallSize(smallestShare: number) {
  let share = 1;
  return {
    /** Since a call failed; ends after some that succeeded. */
    isReduced: (): boolean => share < 1,
    of: (largest: number): number => Math.ceil(largest * share),
    failed(): void {
      share = Math.max(smallestShare, share / 4);
    },
    succeeded(): void {
      share = Math.min(1, share * 2);
    },
  };
}
