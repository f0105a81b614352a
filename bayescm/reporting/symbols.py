"""Explanations of the symbols in model formulas: a LaTeX clause that follows each formula.

The formulas are in the module docstrings of the models, which explain them at length. Methods
paragraphs use these clauses.
"""

_CELLS = r"$\theta$ are the probabilities of the cells"
_PRIOR = r"$\lambda$ are the prior pseudo-counts"

# Clauses of models whose formula differs with more than two classes.
OF_MANY_CLASSES = {
    "hierarchical_groups": r"where $\pi$ are the shares of the $C$ classes in the typical group, "
    r"$a_i$ is the probability that an example of class $i$ is classified correctly there, "
    r"$e_i$ are the shares of the other classes among the errors of class $i$, $\lambda_{ij}$ are "
    r"the prior pseudo-counts by actual and predicted class ($+$ denotes a sum), $\tau$ are the "
    r"standard deviations between groups on the logit scale, a separate one for the shares, for "
    r"each $a_i$ and for each $e_i$, $w$ are the corresponding weights, $n_g$ is the number of "
    r"examples in group $g$, $\text{totals}_{gi}$ is the number of these of class $i$, "
    r"$\text{right}_{gi}$ is the number of these that are classified correctly, "
    r"$\text{errors}_{gi}$ are the numbers of the other predictions, and $\texttt{spread}$ is 1 by "
    r"default",
}

SYMBOLS = {
    "averaged_folds": r"where $\theta_k$ are the probabilities of the cells in fold $k$ of "
    r"$M$, $n_k$ is the number of its test examples, and $\lambda$ are the prior pseudo-counts "
    r"of the cells",
    "binormal": r"where $x_i$ is the score of example $i$ of $n$, $\pi$ is the prevalence, "
    r"$\mu_c$ and $\tau_c$ are mean and precision of the scores of class $c$, $m$ and $s$ are "
    r"the centre and the scale of the prior, taken from the scores, and $\lambda$ is the "
    r"number of examples that the prior is worth (the gamma distribution has a shape and a "
    r"rate)",
    "calibration": r"where $y$ is the outcome and $p$ the forecast, $q(p)$ is the probability "
    r"of the outcome given the forecast, $m$ and $s$ are mean and standard deviation of the "
    r"log odds of the forecasts, $\alpha$ and $\beta$ are level and slope of the departure "
    r"from the forecasts, $w$ is a random walk of second order over their log odds, of scale "
    r"$\sigma$, with the standardised bends $\varepsilon_k$ and the fixed matrix $B$, and "
    r"$\texttt{spread}$ is 2 by default",
    "correlated_t": r"where $\delta$ is the difference of two classifiers, $\bar x$ and $s^2$ are "
    r"mean and variance of their differences in $n$ folds, and $\rho$ is the share of the examples "
    r"that is tested in a fold",
    "crossed_groups": r"where $r_c$, $s_c$ and $p_c$ are recall, specificity and prevalence in "
    r"cell $c$ (the equations are for the recall; specificity and prevalence have equations of "
    r"the same form), $r$ is the recall in the middle, with prior pseudo-counts $\lambda_r$ "
    r"and $\lambda'_r$, $u_{a, l}$ is the standardised effect of level $l$ of attribute $a$, "
    r"$c_a$ is the level of the cell, $\tau_a$ is the standard deviation of these effects, "
    r"$v_c$ is the standardised interaction in the cell, $\omega$ is the standard deviation of "
    r"the interactions, $n_c$ is the number of examples in the cell, and $\theta_c$ are the "
    r"probabilities of its matrix, which follow from the three rates; $\texttt{spread}$ is 1 "
    r"and $\texttt{interaction}$ 0.5 by default",
    "dirichlet_calibration": r"where $p_j$ is the forecast of class $j$ and $y$ the class that "
    r"occurs, $z_j$ is the standardised logarithm of the forecast, $\alpha_j$ shifts a class, "
    r"$\beta$ is one temperature for all, $b_{jl}$, of scale $\sigma$, is the effect of the "
    r"forecast of class $l$ on class $j$, and $\texttt{spread}$ is 1 by default",
    "dirichlet_multinomial": rf"where {_CELLS} of the confusion matrix, $n$ is the number of "
    rf"examples, and {_PRIOR} of the cells",
    "drifting": r"where $r$ is the prevalence, the recall or the specificity, $\pi_{tr}$ is "
    r"its value in batch $t$, $\lambda_r$ and $\lambda'_r$ are prior pseudo-counts, "
    r"$\mathrm{drift}_r$ is the standard deviation of its steps on the logit scale, "
    r"$\varepsilon_{tr}$ are the standardised steps, $\mathrm{hits}_{tr}$ of "
    r"$\mathrm{trials}_{tr}$ examples are positive, or classified correctly, and "
    r"$\texttt{drift}$ is 0.2 by default",
    "fixed_totals": r"where $r_i$ are the probabilities of the predicted labels for examples "
    r"of class $i$, $n_i$ is the number of these examples, $\lambda_i$ are the prior "
    r"pseudo-counts, $\pi_i$ is the prevalence of the class, and $\theta_{ij}$ are the "
    r"probabilities of the cells",
    "hierarchical_calibration": r"where $y$ is the outcome and $p$ the forecast at site $g$, "
    r"$m$ and $s$ are mean and standard deviation of the log odds of all forecasts, $\alpha_g$ "
    r"and $\beta_g$ are level and slope of the site's departure from them, $\alpha$ and "
    r"$\beta$ are their means over sites, $\tau_\alpha$ and $\tau_\beta$ are their standard "
    r"deviations, and $\texttt{spread}$ is 1 by default",
    "hierarchical_differences": r"where $x_{ir}$ is the difference of two classifiers in run "
    r"$r$ on data set $i$, $\delta_i$ is their true difference there, $e_i$ are the errors of "
    r"the runs, with the standard deviation $\sigma_i$ and the correlation $\rho$ (the "
    r"proportion of the examples that is tested in a run), $I$ is the identity and $J$ the "
    r"matrix of ones, $\delta_0$, $\sigma_0$ and $\nu$ are location, scale and degrees of "
    r"freedom of the true differences over data sets, and $s$ is the size of a usual "
    r"difference",
    "hierarchical_folds": r"where $r_{ij}$ is the probability that a typical trained "
    r"classifier predicts $j$ for an example of class $i$, $\lambda_i$ are the prior "
    r"pseudo-counts, $\eta_{kij}$ are the logits in fold $k$, $c_j$ and $a$ are effects that "
    r"move the threshold and the separation of the classes in all folds together, $c_{kj}$ and "
    r"$a_k$ are further effects in fold $k$, $\tau$ is the standard deviation of the "
    r"thresholds between training sets, $\sigma_j$ and $\sigma_a$ are the resulting standard "
    r"deviations for class $j$ and for the separation, $\rho_c$ and $\rho_a$ are the shares of "
    r"the variances that all folds have in common, $\epsilon_j$ is the variance from random "
    r"class totals (0 if they are fixed), $[i = j]$ is 1 if the prediction is correct and else "
    r"0, $n_{ki}$ is the number of test examples of class $i$ in fold $k$, $n_j$ their number "
    r"of class $j$ in all folds, $u^2$ is twice the median of $1/n_j$, $u_T$ is $u$ unless "
    r"training sets are smaller than all folds but one, and $\texttt{spread}$ is 0.3 and "
    r"$\texttt{separation}$ 1 by default",
    "hierarchical_groups": r"where $p_g$, $r_g$ and $s_g$ are prevalence, recall and "
    r"specificity in group $g$, $p$, $r$ and $s$ are the rates of the typical group, "
    r"$\lambda_{ij}$ are the prior pseudo-counts by actual and predicted class (0 is negative, "
    r"1 is positive, and $+$ denotes a sum), $\tau_p$, $\tau_r$ and $\tau_s$ are the standard "
    r"deviations between groups on the logit scale, $\Sigma$ is the covariance matrix of the "
    r"logits of recall and specificity, with correlation $\rho$, $n_g$ is the number of "
    r"examples in the group, $\theta_g$ are the probabilities of its cells, which follow from "
    r"the three rates, and $\texttt{spread}$ is 1 by default",
    "hierarchical_rows": r"where $a_i$ is the probability that an example of class $i$ is "
    r"classified correctly, $m$ is the mean of these over the $C$ classes, $\tau$ is their "
    r"spread on the logit scale, $w$ is the corresponding prior weight, $e_{ij}$ is the share "
    r"of class $j$ among the errors, $\pi_i$ is the prevalence of the class, $u$ and $v$ say "
    r"how even the prevalences are, $\theta_{ij}$ are the probabilities of the cells, $n$ is "
    r"the number of examples, and $\texttt{concentration}$ is 0.5, $\texttt{spread}$ 1 and "
    r"$\texttt{errors}$ 1 by default",
    "importance_weighted": r"where $\phi_c$ is the probability of cell $c$ in the sample, "
    r"$\theta_c$ is its probability in the population, $w_c$ is the mean weight of the "
    r"examples in the cell, $m$ is the number of effective examples, and $\lambda$ are the "
    r"prior pseudo-counts of the cells",
    "item_score_slices": r"where $y_j$ and $\sigma_j$ are mean and standard deviation of the "
    r"posterior of slice $j$ alone, $\theta_j$ is its true mean, $\mu$ and $\tau$ are mean and "
    r"standard deviation of these over slices, $R$ is the range of the scores (or twice their "
    r"standard deviation, if the range is unknown), and $\texttt{spread}$ is 0.5 by default",
    "item_scores": r"where $F$ is the distribution of scores in the population of items, "
    r"$\mathrm{DP}$ the Dirichlet process, $\delta(l)$ a point mass at $l$, $s_i$ the score of "
    r"item $i$ of $n$, $l$ and $h$ are the lowest and the highest possible score, and $e$ is "
    r"the number of pseudo-items at each of them",
    "mislabelled": r"where $\theta_{ak}$ is the probability that an example is truly of class "
    r"$a$ and is predicted as $k$, $e_a$ is the probability that its label is wrong, with "
    r"prior pseudo-counts $\alpha_a$ and $\beta_a$, $E_{al}$ is the probability that it has "
    r"label $l$, $p_{lk}$ are the probabilities of label and prediction, $n$ is the number of "
    r"examples, and $\lambda$ are the prior pseudo-counts",
    "multilabel": r"where $c_{il}$ is 1 if example $i$ is in a cell (true or false positive or "
    r"negative) of label $l$ and else 0, $g_i$ is the weight of the example, $p_{cl}$ is the "
    r"weight of the pseudo-examples in the cell, $e$ is their number, and $c_l$ is the share "
    r"of the cell in the population",
    "noisy_labels": r"where $\text{rates}_{r,a,p}$ is the probability that rater $r$ gives an "
    r"example of class $a$ the label $p$, $\kappa$ is the prior pseudo-count of each label, "
    r"$I_a$ is 1 at the correct label and else 0, $\text{prevalence}_a$ is the prevalence of "
    r"the class, and $\text{votes}_{i,r,p}$ is how often the rater gave example $i$ this label",
    "paired_folds": r"where $\theta$ are the probabilities of joint outcomes (the actual class "
    r"together with the predicted label of each classifier), $\lambda$ are the prior "
    r"pseudo-counts, $n_k$ is the number of test examples in fold $k$ of $K$, $n_j$ their "
    r"number of class $j$ in all folds, $u^2$ is twice the median of $1/n_j$, $r_{mij}$ is the "
    r"probability that classifier $m$ predicts $j$ for an example of class $i$, $\eta_{mij}$ "
    r"is its logarithm moved by training, $c_{mj}$ and $a_m$ are the effects of training sets "
    r"on the threshold and the separation of the classes, with the standardised effects $z$, "
    r"the standard deviations $s_m$ and $v$, the correlation $\chi$ of the thresholds, the "
    r"root $L$ of the correlation matrix of the separations, and the share $\rho_m$ of the "
    r"variance of thresholds that all folds have in common, $[i = j]$ is 1 if the prediction "
    r"is correct and else 0, and $\texttt{spread}$ is 0.3 by default",
    "paired_outcomes": r"where $\theta$ are the probabilities of joint outcomes (the actual "
    r"class $i$ together with the predicted labels $a_1, \dots, a_J$ of the $J$ classifiers), "
    r"$n$ is the number of examples, $\lambda^{(j)}$ are the prior pseudo-counts of classifier "
    r"$j$, and $\lambda_{i+}$ is their sum in row $i$",
    "partly_labelled": r"where $\text{share}_k$ is the share of stratum $k$ of $K$ among all "
    r"examples, $N_k$ is the number of examples in it, $\text{truth}_k$ are the shares of the "
    r"true classes in the stratum, $n_k$ are the numbers of labelled examples of each class, "
    r"and $\lambda_k$ are the prior pseudo-counts, with the sum $\lambda_{k+}$",
    "pooled_folds": r"where $\theta$ are the probabilities of the cells, $\text{counts}_k$ is "
    r"the confusion matrix of fold $k$ of $M$, $n_k$ is the number of its examples, $\lambda$ "
    r"are the prior pseudo-counts of the cells, and $\omega$ is the power that discounts the "
    r"likelihood, because folds share training examples",
    "preferences": r"where $s$ are the strengths of the systems in log odds, $\sigma$ is their "
    r"standard deviation and $z$ are the strengths in units of it, $\eta$ is the log odds that "
    r"the left system is preferred, $\delta$ is the advantage of the system shown first (the "
    r"left one; 0 if the order is not known), $\nu$ is the frequency of ties (0 without ties), "
    r"and $\texttt{spread}$ is 1, $\texttt{first}$ 0.5 and $\texttt{ties}$ 1.5 by default",
    "repeated_items": r"where $x_i$ of $n_i$ answers to item $i$ are right, $w_m$ is the share "
    r"of items that have the rate $q_m$ of right answers ($m = 1, \dots, M$), with the prior "
    r"shares $b$, $\mu$ is the location of the rates, $\rho$ says how much they differ ($\phi$ "
    r"how little), and $\alpha$ is the number of items that the prior is worth",
    "robust_groups": r"where $x_g$ is the logit of a rate (prevalence, recall or specificity) "
    r"in group $g$, $m$ is the logit of the typical group, with prior pseudo-counts $\lambda$ "
    r"and $\lambda'$, $\tau$ is the standard deviation between ordinary groups, $\omega$ is "
    r"the share of groups that deviate, by about $d$, $n_g$ is the number of examples in the "
    r"group, $\theta_g$ are the probabilities of its cells, which follow from the three rates, "
    r"and $\texttt{spread}$ is 0.5 by default",
    "scores": r"where $F$ is the distribution of the scores of the negatives, with the sorted "
    r"scores $x_{(1)}, \dots, x_{(n_0)}$ in the sample of $n_0$ negatives, $G$ is the "
    r"distribution of the scores of the positives, with the sorted scores $y_{(k)}$ in the "
    r"sample of $n_1$ positives, and $\pi$ is the prevalence",
    "transferred_errors": r"where $\text{rates}_a$ are the probabilities of the labels of the "
    r"judge and the classifier for examples of class $a$, $\lambda$ are the prior "
    r"pseudo-counts, $\text{labelled}_a$ are the counts of these labels among the $n_a$ "
    r"labelled examples of the class, $\text{unlabelled}$ are the counts among the $N$ "
    r"unlabelled examples, and $\text{prevalence}_a$ is the share of the class among these",
}
