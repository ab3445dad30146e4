import type { AuthError } from "@supabase/auth-js";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { authSentence } from "./auth-sentence.ts";

/** What Auth refused, in words. `id` is another at each refusal, so that the same words are read out again. */
export type AuthProblem = { id: number; sentence: string };

/** Runs one call of Auth. Its problem stays until the next call has ended: nothing jumps while it is tried again. */
export function useAuthForm<Input>(call: (input: Input) => Promise<{ error: AuthError | null }>) {
  const [problem, setProblem] = useState<AuthProblem | null>(null);
  const mutation = useMutation<void, AuthError, Input>({
    mutationFn: async (input) => {
      const { error } = await call(input);
      if (error) throw error;
    },
    onSuccess: () => setProblem(null),
    onError: (error) => setProblem((former) => ({ id: (former?.id ?? 0) + 1, sentence: authSentence(error) })),
  });
  return { run: mutation.mutate, isBusy: mutation.isPending, problem };
}
