import type { Prediction } from "../../../client/index.ts";
import { PLAYING_ORDER } from "./status-words.ts";
import { useLast } from "../ui/window-focus.ts";
import type { Look, TakesProps } from "./AboutTake.tsx";
import { TakesDrawer } from "./TakesDrawer.tsx";
import { TakeWindow } from "./TakeWindow.tsx";

type Props = TakesProps & {
  /** As the address has them. */
  listed: string | null;
  enlarged: string | null;
  look: Look;
  onEnlarge: (...takes: Prediction[]) => void;
};

/** The takes of a step, and above it the take that is looked at. */
export default function TakeWindows({ listed, enlarged, look, onEnlarge, ...about }: Props) {
  const step = useLast(PLAYING_ORDER.find((one) => one === listed) ?? null);
  const ids = useLast(enlarged);
  return (
    <>
      {/* Always there: a window is above those that were there before it. */}
      <TakesDrawer
        {...about}
        step={step ?? "video"}
        isOpen={listed !== null && step !== null}
        onClose={() => look({ takes: null })}
        onEnlarge={onEnlarge}
      />
      {ids !== null && (
        <TakeWindow {...about} ids={ids.split(",")} isOpen={enlarged !== null} onClose={() => look({ take: null })} />
      )}
    </>
  );
}
