/** Why a deployment ended, and what the person who runs it can do about it. Its message never holds a secret. */
export class DeployError extends Error {
  override name = "DeployError";
}
