import { deliveryPromises } from "./promises-deliveries.ts";
import { leftoverPromises } from "./promises-leftovers.ts";
import { newsPromises } from "./promises-news.ts";
import { predictionPromises } from "./promises-predictions.ts";
import { storagePromises } from "./promises-storage.ts";

/**
 * Something that holds at the end of every run, whatever happened in it. `broken` is a query over our tables and the
 * ledger's (write-ledger.ts): each row it finds breaks the promise, and says in its column `broken` what does.
 */
export type Promised = {
  sentence: string;
  broken: string;
  /** What it finds may be there for a moment; what is found twice, two seconds apart, breaks it. */
  lasting?: true;
};

export const PROMISES: Readonly<Record<string, Promised>> = {
  ...predictionPromises,
  ...newsPromises,
  ...deliveryPromises,
  ...storagePromises,
  ...leftoverPromises,
};
