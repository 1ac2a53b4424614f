require "action_controller"

# What a page consists of, and how long each part lasts:
#
# | part | lasts | for whom |
# |---|---|---|
# | the page itself | 30 s | everybody |
# | the latest comments | 5 s | everybody |
# | the box | – | one member; for visitors 30 s |
#
# An edge that can put pages together says so with each request (`Surrogate-Capability`, Edge Architecture Specification
# 1.0) and gets the page itself with the places of the others; anybody else gets a whole page, which lasts as long as
# the shortest of its parts.
class ApplicationController < ActionController::Base
  PAGE = 30
  LATEST = 5

  helper_method :member, :part, :kept

  rescue_from(ActiveRecord::RecordNotFound) { head :not_found }

  private

  def member
    return @member if defined?(@member)
    id = cookies.signed[:member]
    @member = id && Member.find_by(id: id)
  end

  def part(name)
    if in_parts?
      %(<esi:include src="/parts/#{name}"/>).html_safe
    else
      helpers.render("parts/#{name}")
    end
  end

  def in_parts?
    request.headers["Surrogate-Capability"].to_s.include?("ESI/1.0")
  end

  # How a view keeps a part of itself, if the framework caches: queries that only this part needs are not made then.
  def kept(seconds)
    { expires_in: seconds, skip_digest: true }
  end

  def lasting(seconds)
    response.headers["Cache-Control"] = "public, max-age=#{seconds}"
  end

  def of_a_member
    response.headers["Cache-Control"] = "private, no-store"
  end
end

class PagesController < ApplicationController
  before_action :say_how_long, only: [:home, :project, :idea]

  def home
    @projects = Project.by_interest
    render "pages/home"
  end

  def project
    @project = Project.find(params[:id])
    @ideas = @project.ideas.by_votes.includes(:member)
    render "pages/project"
  end

  def idea
    @idea = Idea.includes(:member, :project).find(params[:id])
    @comments = @idea.comments.includes(:member).order(created_at: :desc, id: :desc).limit(30)
    @others = Idea.by_votes.where(project_id: @idea.project_id).where.not(id: @idea.id).limit(5)
    render "pages/idea"
  end

  def vote
    return head(:forbidden) unless member
    Vote.insert({ idea_id: Idea.find(params[:id]).id, member_id: member.id }, unique_by: [:idea_id, :member_id])
    redirect_to "/ideas/#{params[:id]}", status: :see_other
  end

  def login
    known = Member.known_by(params[:name].to_s, params[:password].to_s)
    return redirect_to("/?known=no", status: :see_other) unless known
    cookies.signed[:member] = { value: known.id, httponly: true, same_site: :lax }
    redirect_to "/", status: :see_other
  end

  def health
    render plain: "well"
  end

  private

  def say_how_long
    if in_parts?
      lasting(PAGE)
      response.headers["Surrogate-Control"] = 'content="ESI/1.0"'
    elsif member
      of_a_member
    else
      lasting(LATEST)
      response.headers["Vary"] = "Cookie"
    end
  end
end

class PartsController < ApplicationController
  layout false

  def box
    member ? of_a_member : lasting(PAGE)
    response.headers["Vary"] = "Cookie"
    render "parts/_box"
  end

  def latest
    lasting(LATEST)
    render "parts/_latest"
  end
end
