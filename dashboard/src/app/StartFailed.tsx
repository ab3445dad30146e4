/** Stands in for the whole dashboard when it cannot start. Needs nothing that may have failed to load. */
export function StartFailed({ reason }: { reason: string }) {
  return (
    <main style={{ maxWidth: "36rem", margin: "20vh auto", padding: "0 1rem", fontFamily: "system-ui, sans-serif" }}>
      <h1>Keyframe cannot start</h1>
      <p role="alert">{reason}</p>
    </main>
  );
}
