/** The three outcomes that are counted, in the order in which they are shown. */
export const OUTCOMES = [
  { kind: "delivered", label: "Delivered" },
  { kind: "retrying", label: "Retrying" },
  { kind: "exhausted", label: "Given up" },
] as const;
