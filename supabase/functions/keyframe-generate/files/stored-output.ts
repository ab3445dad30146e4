/** A file in Storage that has been checked, as complete_prediction takes it. Video alone has a duration. */
export type StoredOutput = {
  output_path: string;
  content_type: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
  duration_seconds: number | null;
};
