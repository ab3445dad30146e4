/** What a receiver got at the endpoints that answer. */
export type Report = {
  /** When each event came first, in ms since 1970, in the order of their coming. */
  arrivals: number[];
  /** More than there are events when some came twice. */
  requests: number;
  bytes: number;
  samples: { endpoint: number; headers: [string, string][]; body: string }[];
  /** Events at endpoints that hang. */
  hung: number;
};
