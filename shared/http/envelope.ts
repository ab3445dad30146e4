import type { ErrorCode, ErrorDetail } from "./errors.ts";

/** The error of a failed call. `requestId` also stands in the log line of the request. */
export type EnvelopeError = { code: ErrorCode; message: string; details?: ErrorDetail[]; requestId: string };

/** What every response body is, from a 201 to a crash. */
export type Envelope<Data> =
  | { success: true; data: Data; error: null }
  | { success: false; data: null; error: EnvelopeError };

export const succeeded = <Data>(data: Data): Envelope<Data> => ({ success: true, data, error: null });

export const failed = (error: EnvelopeError): Envelope<never> => ({ success: false, data: null, error });
