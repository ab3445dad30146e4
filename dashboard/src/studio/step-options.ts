/** What a person has set for the next run of a step. */
export type StepOptions = {
  /** Empty: the project's. */
  prompt: string;
  usesReference: boolean;
  /** Null: the model's own. */
  durationSeconds: number | null;
};

export const NO_OPTIONS: StepOptions = { prompt: "", usesReference: true, durationSeconds: null };

const LONGEST_PROMPT = 4000;

export const isTooLong = ({ prompt }: StepOptions): boolean => [...prompt].length > LONGEST_PROMPT;
